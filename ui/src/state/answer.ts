// Queries a source from a component. The last answer stays on the screen until the next one arrives.

import { signal as stateOf } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ServerGone } from "../data/source.ts";
import { messageOf } from "./store.ts";

export interface Answer<T> {
  /** The newest answer, possibly to an older question. */
  value: T | null;
  /** The question that it answers. */
  answers: string;
  error: string;
  waiting: boolean;
}

/** Whether the server has stopped answering. */
export const isServerGone = stateOf(false);
/** How often all questions were repeated. */
const rounds = stateOf(0);

/** Repeats all questions of the page. */
export function askAgain(): void {
  rounds.value += 1;
}

/**
 * Asks again whenever `question` changes, `delay_ms` after the last change, and the first time at once. A question that is
 * no longer needed is aborted. `null` asks nothing.
 */
export function useAnswer<T>(
  question: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  delay_ms = 0,
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({
    value: null,
    answers: "",
    error: "",
    waiting: question !== null,
  });
  const newest = useRef(ask);
  newest.current = ask;
  const isFirst = useRef(true);
  // Immediately: an ordinary effect would ask only after the next frame.
  useLayoutEffect(() => {
    if (question === null) return;
    const aborter = new AbortController();
    const { signal } = aborter;
    setAnswer((old) => ({ ...old, waiting: true }));
    const run = async (): Promise<void> => {
      try {
        const value = await newest.current(signal);
        if (signal.aborted) return;
        isServerGone.value = false;
        setAnswer({ value, answers: question, error: "", waiting: false });
      } catch (error) {
        if (signal.aborted) return;
        isServerGone.value ||= error instanceof ServerGone;
        if (error instanceof ServerGone) setAnswer((old) => ({ ...old, waiting: false }));
        else setAnswer({ value: null, answers: question, error: messageOf(error), waiting: false });
      }
    };
    const timer = delay_ms > 0 && !isFirst.current ? setTimeout(run, delay_ms) : void run();
    isFirst.current = false;
    return () => {
      clearTimeout(timer ?? undefined);
      aborter.abort();
    };
  }, [question, delay_ms, rounds.value]);
  return answer;
}
