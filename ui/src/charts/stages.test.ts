import { expect, test } from "vitest";
import type { SpanRow } from "../data/source.ts";
import { requestsOf, WHOLE } from "./stages.ts";

function request(name: string, duration: number, detail: object | string): SpanRow {
  const text = typeof detail === "string" ? detail : JSON.stringify(detail);
  return { t: 0, duration, thread: 0, kind: "block_request", name, stack: 0, kernelStack: 0, detail: text };
}

test("stages have their quantiles by device and operation, a damaged detail has its whole length alone", () => {
  const reads = Array.from({ length: 100 }, (_, index) =>
    request("vda", 1_000 + index, { operation: index % 2 ? "read" : "read ahead", q2g_ns: index, d2c_ns: 900 }),
  );
  const [read, write] = requestsOf([request("vda", 7, { operation: "write" }), ...reads, request("vda", 9, "{")]);
  expect(read.name).toBe("vda read");
  expect(read.stages.get("Q2G")).toEqual({ count: 100, p50: 50, p99: 98 });
  expect(read.stages.get("D2C")).toEqual({ count: 100, p50: 900, p99: 900 });
  expect(read.stages.get("I2D")).toBeUndefined();
  expect(write.name).toBe("vda");
  expect(write.stages.get(WHOLE)).toEqual({ count: 1, p50: 9, p99: 9 });
});
