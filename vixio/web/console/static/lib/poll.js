// Asking again and again, as long as somebody looks.

/**
 * Calls `act` at once, and again `everyMs` after its end while the tab is visible. A tab that is
 * hidden asks nothing, and asks at once when it is shown again. `act` deals with its own errors.
 *
 * @param {AbortSignal} signal ends it
 * @param {number} everyMs
 * @param {() => Promise<void>} act
 * @returns {() => void} asks now, out of turn
 */
export function poll(signal, everyMs, act) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let running = false;
  let again = false;

  async function ask() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    again = false;
    try {
      await act();
    } finally {
      running = false;
      if (!signal.aborted) timer = setTimeout(ask, again ? 0 : everyMs);
    }
  }

  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  document.addEventListener("visibilitychange", ask, { signal });
  void ask();
  return () => void ask();
}
