"""What runs in Spark's workers: rows become packets, buckets keep state and make results.

`packets` packs rows by bucket before the shuffle and unpacks results after it; `labels` says which
bucket belongs to which partition; `operator` is the one place that knows how Spark keeps state,
`declared` is what Spark gets of it, `journal` the durable state of a bucket and `image` its copy in
shared memory; `bucket` is what all buckets share, `join_bucket`, `lookup_bucket` and `thin_bucket`
are theirs; `segments` holds payloads by row number, `results` makes packets of them, and
`result_rows` is how the operator returns these; `archiver` writes what left early; `sharing`
divides a budget among buckets; `store` and `fingerprint` write and check what a checkpoint holds;
`rehearsal` has the driver compile the `kernels` of a query; `arrow` handles Arrow tables.
"""
