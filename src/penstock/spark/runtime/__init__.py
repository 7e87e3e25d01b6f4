"""What runs in Spark's workers: rows become packets, buckets keep state and make results.

`packets` packs rows by bucket before the shuffle and unpacks results after it; `labels` says which
bucket belongs to which partition; `operator` is the one place that knows how Spark keeps state,
`declared` is what Spark gets of it; `bucket` is what all buckets share, `join_bucket`,
`lookup_bucket` and `thin_bucket` are theirs; `segments` holds payloads by row number, `results`
makes packets of them; `sharing` divides a budget among buckets; `store` and `fingerprint` write and
check what a checkpoint holds; `arrow` knows Arrow tables.
"""
