// The rows of a counter lane for the shown time.

import type { Lane } from "../../data/overview.ts";
import type { CounterSeries } from "../../data/source.ts";
import { useAnswer } from "../../state/answer.ts";
import { askedWindow, plotWidth, source } from "../../state/store.ts";

const NONE: readonly CounterSeries[] = [];

export function useSeries(
  lane: Lane,
  instances: readonly string[],
): { series: readonly CounterSeries[]; error: string } {
  const from = source.value;
  const window = askedWindow.value;
  const width = Math.ceil(plotWidth.value * 2);
  const { value, error } = useAnswer(
    from ? JSON.stringify([lane.id, instances, window, width]) : null,
    (signal) => {
      const places = instances.map((instance) => lane.instances.indexOf(instance));
      const asked = from?.counter({ lane: lane.id, instances: places, ...window, width }, signal);
      return asked ?? Promise.reject(new Error("no recording"));
    },
    60,
  );
  return { series: value ?? NONE, error };
}
