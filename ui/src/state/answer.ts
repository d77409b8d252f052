// Asking a source from a component: the last answer stays on the screen until the next one is there.

import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "./store.ts";

export interface Answer<T> {
  /** The newest answer there is, maybe to an older question. */
  value: T | null;
  /** The question that it answers. */
  answers: string;
  error: string;
  waiting: boolean;
}

/**
 * Asks again whenever `question` changes, `delay_ms` after the last change; the first time at once. A question that is
 * no longer wanted is aborted. `null` asks nothing.
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
  useEffect(() => {
    if (question === null) return;
    const aborter = new AbortController();
    const { signal } = aborter;
    setAnswer((old) => ({ ...old, waiting: true }));
    const run = async (): Promise<void> => {
      try {
        const value = await newest.current(signal);
        if (!signal.aborted) setAnswer({ value, answers: question, error: "", waiting: false });
      } catch (error) {
        if (!signal.aborted) setAnswer({ value: null, answers: question, error: messageOf(error), waiting: false });
      }
    };
    const timer = delay_ms > 0 && !isFirst.current ? setTimeout(run, delay_ms) : void run();
    isFirst.current = false;
    return () => {
      clearTimeout(timer ?? undefined);
      aborter.abort();
    };
  }, [question, delay_ms]);
  return answer;
}
