-- Views of a recording for DuckDB: times as timestamps, stacks as text, counters that only grow as rates.
-- Start duckdb inside the folder of the recording: duckdb -init PATH/views.sql. docs/notebook.md shows questions.

create or replace macro instant(time_ns) as make_timestamp_ns(time_ns);

-- A stack as text, the leaf first, frames separated by `;`, as in answers of fathom.
create or replace view stack_texts as
with recursive walk(stack_id, parent_id, frame_id, depth) as (
    select stack_id, parent_id, frame_id, 0 from 'stacks.parquet'
    union all
    select walk.stack_id, above.parent_id, above.frame_id, walk.depth + 1
    from walk join 'stacks.parquet' above on above.stack_id = walk.parent_id
    where walk.depth < 4096
)
select stack_id, string_agg(frames.symbol, ';' order by depth) as stack
from walk join 'frames.parquet' frames using (frame_id)
group by stack_id;

create or replace view span_rows as
select instant(time_ns) as began, duration_ns / 1e6 as duration_ms, spans.tid, threads.name as thread, kind, spans.name,
    stack, detail, spans.source, time_ns, duration_ns
from 'spans.parquet' spans
left join 'threads.parquet' threads on threads.tid = spans.tid
left join stack_texts on stack_texts.stack_id = spans.stack_id;

create or replace view sample_rows as
select instant(time_ns) as seen, samples.tid, threads.name as thread, event, weight_ns / 1e6 as weight_ms, size_bytes, state, stack,
    time_ns
from 'samples.parquet' samples
left join 'threads.parquet' threads on threads.tid = samples.tid
left join stack_texts on stack_texts.stack_id = samples.stack_id;

create or replace view counter_rows as
select instant(time_ns) as seen, name, instance, tid, value, source, time_ns from 'counters.parquet';

-- The rise of each counter per second, from one of its rows to the next; only of use for counters that only grow, which the
-- table "Counters" of docs/schema.md says with "since".
create or replace view rates as
select instant(time_ns) as until, name, instance, tid, source, (value - before) / (time_ns - before_ns) * 1e9 as per_s
from (
    select *, lag(value) over one as before, lag(time_ns) over one as before_ns
    from 'counters.parquet'
    window one as (partition by name, instance, tid, source order by time_ns)
)
where time_ns > before_ns;
