#!/bin/bash
# Makes the recordings of this folder anew. Takes a minute; the figures in the expectations change with them:
# run expect.py afterwards.
#
# Usage: JDK11=... JDK17=... JDK21=... JDK25=... PROFILER=.../libasyncProfiler.so record.sh TARGET_FOLDER
# JDK*: folders of JDKs (11 and 21 need no compiler). PROFILER: async-profiler's library, from the jar
# tools.profiler:async-profiler of Maven Central.
set -eu
target=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d /tmp/recordings.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp "$here/everything.jfc" "$here/Busy.java" "$work/"
cp "$PROFILER" "$work/libasyncProfiler.so"
cd "$work"
"$JDK17/bin/javac" --release 11 -d classes Busy.java
# Many classes keep the compiler busy, and with it the code cache.
mkdir many
for i in $(seq 60); do sed "s/\bBusy\b/Busy$i/g" Busy.java > "many/Busy$i.java"; done

clean() { env -i PATH=/usr/bin HOME=/home/demo API_TOKEN=not-for-you "$@"; }

# jvm JDK NAME ARGUMENTS OPTIONS...
jvm() {
    clean "$1/bin/java" "${@:4}" -Xmx64m -Dapp.password=not-for-you \
        -XX:StartFlightRecording=filename="$work/$2.jfr",settings=everything.jfc -XX:FlightRecorderOptions=stackdepth=16 \
        -cp classes Busy $3
}

# compiler JDK NAME SOURCES OPTIONS...
compiler() {
    clean "$1/bin/javac" "${@:4}" -J-XX:-SegmentedCodeCache -J-XX:ReservedCodeCacheSize=2496k \
        -J-XX:StartFlightRecording=filename="$work/$2.jfr",settings=everything.jfc -J-XX:FlightRecorderOptions=stackdepth=4 \
        -d compiled $3
}

# profiler NAME OPTIONS ARGUMENTS
profiler() {
    clean "$JDK25/bin/java" -Xmx64m -agentpath:./libasyncProfiler.so="start,$2,jfr,file=$work/$1.jfr" -cp classes Busy $3
}

jvm "$JDK11" jdk11_parallel "2 10 1 3" -XX:+UseParallelGC
jvm "$JDK17" jdk17_g1 "2 10 1 3" -XX:+UseG1GC
jvm "$JDK21" jdk21_zgc "1 10 1 3" -XX:+UseZGC -XX:+ZGenerational
jvm "$JDK25" jdk25_g1 "2 10 1 3" -XX:+UseG1GC
compiler "$JDK17" jdk17_code_cache_full "$(echo many/*.java)" -J-XX:-UseCodeCacheFlushing -J-XX:+UseSerialGC
compiler "$JDK25" jdk25_code_cache Busy.java -J-XX:+UseG1GC
gzip -9n jdk17_code_cache_full.jfr
profiler ap_everything event=cpu,interval=2ms,wall=20ms,alloc=256k,lock=100us,nativemem=256k,nofree "2 10 1 3"
profiler ap_page_faults event=page-faults,interval=50 "1 10 1 3"
profiler ap_wall event=wall,interval=30ms "1 10 1 3"
profiler ap_chunks event=ctimer,interval=10ms,chunktime=5,cstack=vmx "11 6 1 2"

# Killed by somebody: the profiler never finishes its chunk.
env -i PATH=/usr/bin "$JDK25/bin/java" -Xmx64m -agentpath:./libasyncProfiler.so=start,event=cpu,interval=2ms,jfr,file="$work/ap_killed.jfr" \
    -cp classes Busy 60 10 1 3 &
# Taken while the JVM is writing it: the chunk in the recorder's own folder.
mkdir repository
env -i PATH=/usr/bin "$JDK25/bin/java" -Xmx64m -XX:StartFlightRecording=settings=everything.jfc \
    -XX:FlightRecorderOptions=stackdepth=8,repository="$work/repository" -cp classes Busy 60 6 1 2 &
for _ in $(seq 30); do
    sleep 1
    chunk=$(find repository -name '*.jfr' -size +140k 2>/dev/null) && [ -n "$chunk" ] && cp "$chunk" jdk25_live.jfr && break
done
jobs -p | xargs kill -KILL
wait || true
cp ./*.jfr ./*.jfr.gz "$target/"
