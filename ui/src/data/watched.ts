// The status of a service that watches JVMs (docs/watch.md).

export interface Watched {
  schema: number;
  is_running: boolean;
  /** The first minute of the last hour, in nanoseconds since the Unix epoch, as a string of digits. */
  from_ns: string;
  jvms: WatchedJvm[];
  /** The newest first. */
  incidents: Incident[];
}

export interface WatchedJvm {
  service: string;
  pid: number;
  java: string;
  collector: string;
  container: string | null;
  minutes: WatchedMinute[];
}

/** Values that were not observed are null. */
export interface WatchedMinute {
  /** The minute of the hour. */
  at: number;
  requests: number | null;
  seconds: number | null;
  p95_ms: number | null;
  max_ms: number | null;
  stop_ms: number | null;
  triggers: string | null;
  incident: string | null;
}

export interface Incident {
  id: string;
  /** The number of its recording; null if that was deleted, or is newer than the server. */
  recording: number | null;
  service: string | null;
  pid: number | null;
  at_ns: string | null;
  why: string | null;
  says: string;
  cause: string | null;
  verdict: string | null;
  share: number | null;
  times_today: number;
}
