"""Makes a SenseVoice of three small blocks that has learnt two utterances by heart.

Its answers are those of the real one: four tags (language, emotion, event, number style) and words.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

_TAGS: Final = (
    *("<|zh|>", "<|en|>", "<|nospeech|>", "<|HAPPY|>", "<|ANGRY|>", "<|NEUTRAL|>"),
    *("<|Speech|>", "<|BGM|>", "<|withitn|>", "<|woitn|>"),
)
_STEPS: Final = 400
"""Maximum number of steps; training stops when the utterances are learnt."""
_LEARNT: Final = 0.05
_WIDTH: Final = 64
_ROOM: Final = 0.6
"""Variation of the features (logarithms of energies) between recordings."""

_CONFIG: Final[dict[str, Any]] = {
    "model": "SenseVoiceSmall",
    "model_conf": {"length_normalized_loss": True, "sos": 1, "eos": 2, "ignore_id": -1},
    "encoder": "SenseVoiceEncoderSmall",
    "encoder_conf": {
        "output_size": _WIDTH,
        "attention_heads": 2,
        "linear_units": 128,
        "num_blocks": 2,
        "tp_blocks": 1,
        "dropout_rate": 0.0,
        "positional_dropout_rate": 0.0,
        "attention_dropout_rate": 0.0,
        "input_layer": "pe",
        "pos_enc_class": "SinusoidalPositionEncoder",
        "normalize_before": True,
        "kernel_size": 11,
        "sanm_shfit": 0,  # FunASR's spelling
        "selfattention_layer_type": "sanm",
    },
    "ctc_conf": {"dropout_rate": 0.0},
    "frontend": "WavFrontend",
    "frontend_conf": {
        "fs": 16_000,
        "window": "hamming",
        "n_mels": 80,
        "frame_length": 25,
        "frame_shift": 10,
        "lfr_m": 7,
        "lfr_n": 6,
        "dither": 0.0,
    },
    "tokenizer": "SentencepiecesTokenizer",
    "tokenizer_conf": {"bpemodel": None, "unk_symbol": "<unk>", "split_with_space": True},
}


def make_sensevoice(
    folder: Path, lessons: Mapping[str, bytes], *, published_size: bool = False
) -> Path:
    """Write a model to ``folder`` that recognises ``lessons`` (text with tags → PCM); return it.

    ``published_size``: as large as SenseVoiceSmall (221 million weights), for measuring; it learns
    nothing.
    """
    import sentencepiece
    import torch
    from funasr import AutoModel

    folder.mkdir(parents=True)
    config = deepcopy(_CONFIG)
    if published_size:
        config["encoder_conf"] |= {"output_size": 512, "attention_heads": 4, "linear_units": 2048}
        config["encoder_conf"] |= {"num_blocks": 50, "tp_blocks": 20}
    folder.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    words = [text.rpartition("|>")[2] for text in lessons]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words * 10),
        model_prefix=str(folder / "bpe"),
        model_type="char",
        user_defined_symbols=list(_TAGS),
        add_dummy_prefix=False,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    torch.save({}, folder / "model.pt")
    auto = AutoModel(
        model=str(folder), device="cpu", ncpu=1, disable_update=True, disable_pbar=True
    )
    if not published_size:
        _teach(auto, lessons)
    torch.save(auto.model.state_dict(), folder / "model.pt")
    return folder


def _teach(auto: Any, lessons: Mapping[str, bytes]) -> None:  # noqa: ANN401 - the vendor's
    """Train the model on each lesson: its first four outputs are the tags, the others CTC's."""
    import torch
    from funasr.utils.load_utils import extract_fbank
    from torch.nn.functional import cross_entropy, ctc_loss

    model, tokenizer = auto.model, auto.kwargs["tokenizer"]
    model.train()
    torch.manual_seed(1)
    learning = torch.optim.Adam(model.parameters(), lr=2e-3)
    lesson = []
    for text, pcm in lessons.items():
        samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(32768)
        features, _ = extract_fbank(
            [torch.from_numpy(samples)], data_type="sound", frontend=auto.kwargs["frontend"]
        )
        lesson.append((features, torch.tensor(tokenizer.encode(text))))
    # The queries of SenseVoiceSmall.inference: language auto, event and emotion, numbers in digits.
    questions = torch.tensor([[0, 1, 2, model.textnorm_dict["withitn"]]])
    for _ in range(_STEPS):
        learning.zero_grad()
        losses = []
        for features, tokens in lesson:
            # The same utterance with another offset and other acoustics.
            shift = int(torch.randint(0, 4, ()))
            roomy = features[:, shift:] + _ROOM * torch.randn_like(features[:, shift:])
            asked = torch.cat((model.embed(questions), roomy), dim=1)
            heard, lengths = model.encoder(asked, torch.tensor([asked.shape[1]]))
            scores = model.ctc.log_softmax(heard)
            losses += [
                cross_entropy(scores[0, :4], tokens[:4]),
                ctc_loss(scores[0, 4:], tokens[4:], lengths - 4, torch.tensor([len(tokens) - 4])),
            ]
        loss = torch.stack(losses).sum()
        loss.backward()
        learning.step()
        if loss.item() < _LEARNT:
            break
    model.eval()
