"""Makes Paraformers of two small blocks with random weights, as the folders that FunASR loads.

They hear nothing sensible, but what they say follows from what they are fed, and they run through
the same code as the real ones: features, encoder, CIF predictor, decoder, tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

TOKENS = ("<blank>", "<s>", "</s>", *"你好请打开灯关上门音量大小一二三四五六七八九十", "<unk>")
_MELS, _STACKED, _WIDTH = 80, 7, 32


def _config(*, streaming: bool) -> dict[str, Any]:
    """The keys of the published models' config.yaml that the loader reads, with small numbers."""
    block = {
        "attention_heads": 2,
        "linear_units": 64,
        "dropout_rate": 0.0,
        "positional_dropout_rate": 0.0,
        "kernel_size": 11,
        "sanm_shfit": 5 if streaming else 0,  # FunASR's spelling
    }
    encoder: dict[str, Any] = {
        **block,
        "output_size": _WIDTH,
        "num_blocks": 2,
        "attention_dropout_rate": 0.0,
        "input_layer": "pe_online" if streaming else "pe",
        "pos_enc_class": "SinusoidalPositionEncoder",
        "normalize_before": True,
        "selfattention_layer_type": "sanm",
    }
    if streaming:
        encoder |= {
            "chunk_size": [12, 15],
            "stride": [8, 10],
            "pad_left": [0, 0],
            "encoder_att_look_back_factor": [4, 4],
            "decoder_att_look_back_factor": [1, 1],
        }
    decoder = {
        **block,
        "num_blocks": 2,
        "att_layer_num": 2,
        "self_attention_dropout_rate": 0.0,
        "src_attention_dropout_rate": 0.0,
    }
    return {
        "model": "ParaformerStreaming" if streaming else "Paraformer",
        "model_conf": {"ctc_weight": 0.0, "predictor_bias": 1, "sampling_ratio": 0.75},
        "encoder": "SANMEncoderChunkOpt" if streaming else "SANMEncoder",
        "encoder_conf": encoder,
        "decoder": "ParaformerSANMDecoder",
        "decoder_conf": decoder,
        "predictor": "CifPredictorV2",
        "predictor_conf": {
            "idim": _WIDTH,
            "threshold": 1.0,
            "l_order": 0 if streaming else 1,
            "r_order": 1,
            "tail_threshold": 0.45,
        },
        "frontend": "WavFrontendOnline" if streaming else "WavFrontend",
        "frontend_conf": {
            "fs": 16_000,
            "window": "hamming",
            "n_mels": _MELS,
            "frame_length": 25,
            "frame_shift": 10,
            "lfr_m": _STACKED,
            "lfr_n": 6,
            "dither": 0.0,  # else the same audio would give different words
        },
        "tokenizer": "CharTokenizer",
        "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True},
    }


def _bias(config: dict[str, Any]) -> None:
    """Add the parts for hotwords: an encoder and a second decoder."""
    config["model"] = "SeacoParaformer"
    config["model_conf"] |= {"inner_dim": _WIDTH, "NO_BIAS": TOKENS.index("<unk>")}
    config["seaco_decoder"] = config["decoder"]
    config["seaco_decoder_conf"] = {
        **config["decoder_conf"],
        "use_output_layer": False,
        "wo_input_layer": True,
    }


def _enlarge(config: dict[str, Any]) -> None:
    """Set the constants of the published model."""
    config["encoder_conf"] |= {"output_size": 512, "num_blocks": 50}
    config["decoder_conf"] |= {"num_blocks": 16, "att_layer_num": 16}
    for part in ("encoder_conf", "decoder_conf"):
        config[part] |= {"attention_heads": 4, "linear_units": 2048}
    config["predictor_conf"]["idim"] = 512


def _normalisation() -> str:
    """Return the normalisation in Kaldi's format: the same shift and scale for all features."""
    size = _MELS * _STACKED
    shift, scale = " ".join(["-10"] * size), " ".join(["0.2"] * size)
    return (
        f"<Nnet>\n<Splice> {size} {size}\n[ 0 ]\n"
        f"<AddShift> {size} {size}\n<LearnRateCoef> 0 [ {shift} ]\n"
        f"<Rescale> {size} {size}\n<LearnRateCoef> 0 [ {scale} ]\n</Nnet>\n"
    )


def make_paraformer(
    folder: Path,
    *,
    streaming: bool = False,
    hotwords: bool = False,
    published_size: bool = False,
) -> Path:
    """Write the four files of a model to ``folder`` and return it.

    ``hotwords``: one that takes them, as ``paraformer-zh`` does (SeACo).

    ``published_size``: as large as ``paraformer-zh`` (220 million weights), for measuring.
    """
    import torch
    from funasr import AutoModel

    folder.mkdir(parents=True)
    config = _config(streaming=streaming)
    if hotwords:
        _bias(config)
        # Each character is one token.
        folder.joinpath("seg_dict").write_text(
            "".join(f"{token} {token}\n" for token in TOKENS), encoding="utf-8"
        )
    if published_size:
        _enlarge(config)
    folder.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    folder.joinpath("am.mvn").write_text(_normalisation(), encoding="utf-8")
    folder.joinpath("tokens.json").write_text(
        json.dumps(TOKENS, ensure_ascii=False), encoding="utf-8"
    )
    # The loader initialises missing weights with random values, which are then saved.
    torch.save({}, folder / "model.pt")
    model = AutoModel(
        model=str(folder), device="cpu", ncpu=1, disable_update=True, disable_pbar=True
    ).model
    torch.save(model.state_dict(), folder / "model.pt")
    return folder
