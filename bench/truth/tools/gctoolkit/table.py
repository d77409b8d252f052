"""The causes that a collection can mean, by its type and cause in GCToolKit's parsers, with the reason. In doubt a cause is listed.

GCToolKit itself names no cause of slowness. The causes and types are those of its events.
"""

FULL = ["full_gc_old_generation_full", "heap_too_small"]
YOUNG = ["allocation_pressure", "heap_too_small"]

CAUSES = {
    "CODE_CACHE_THRESHOLD": (["code_cache_full", "code_cache_churn"], "a collection to free compiled code"),
    "DIAGNOSTIC_COMMAND": (["explicit_gc"], "asked for from outside"),
    "HEAP_DUMP": (["explicit_gc", "vm_operations"], "a collection before a heap dump"),
    "HEAP_INSPECTION": (["explicit_gc", "vm_operations"], "a collection before a histogram"),
    "JAVA_LANG_SYSTEM": (["explicit_gc"], "System.gc()"),
    "JVMTI_FORCE_GC": (["explicit_gc"], "asked for by an agent or a debugger"),
    "LAST_DITCH_COLLECTION": (["metaspace_full"], "the last try before the metaspace is exhausted"),
    "METADATA_GENERATION_THRESHOLD": (["metaspace_full"], "the metaspace reached its threshold"),
    "META_CLEAR_SOFT_REF": (["metaspace_full"], "the same, soft references cleared"),
    "PERMANENT_GENERATION_FULL": (["metaspace_full"], "the permanent generation is full"),
    "CMS_FAILURE": (FULL, "CMS was not done in time"),
    "PROMOTION_FAILED": (FULL, "the old generation had no room for survivors"),
    "TENURED_GENERATION_FULL": (FULL, "the old generation is full"),
    "OLD_GENERATION_TOO_FULL_TO_SCAVENGE": (FULL, "the same"),
    "ALLOC_STALL": ([*FULL, "allocation_pressure"], "threads waited for memory"),
}

# By the event's class, if the cause is not specific.
KINDS = {
    "SystemGC": (["explicit_gc"], "System.gc(), as JDK 6 to 8 print it"),
    "G1SystemGC": (["explicit_gc"], "the same"),
    "FullGC": ([*FULL, "explicit_gc", "metaspace_full"], "a full collection of unknown reason"),
    "PSFullGC": ([*FULL, "explicit_gc", "metaspace_full"], "the same"),
    "G1FullGC": ([*FULL, "explicit_gc", "metaspace_full"], "the same"),
    "G1FullGCNES": ([*FULL, "explicit_gc", "metaspace_full"], "the same"),
    "ConcurrentModeFailure": (FULL, "CMS was not done in time"),
    "ConcurrentModeInterrupted": ([*FULL, "explicit_gc"], "something asked for a full collection while CMS was at work"),
    "ParNewPromotionFailed": (FULL, "the old generation had no room for survivors"),
}
OTHER = (YOUNG, "a young, mixed or short collection")

STOPPED = (["long_time_to_safepoint", "vm_operations"], "a stop that is no collection")
