"""What a Spark session must be set to: so that SQL means what it should, and no row decides how much work is done.

Promise: each of these is set when a session is opened and read back; a session that keeps another value is not used.

There are two kinds. `MEANING` decides what the words of a query mean. `WORK` decides how much work is done for them. It
is here because an answer's time can be observed: by default Spark looks at rows on the way and skips work that would
give nothing, so the time of a question shows whether anyone satisfies a condition.

    adaptive execution       plans again between stages, from the sizes of what the stages before gave: an empty side of
                             a join ends the question, small parts are put together, joins change their kind
    filter pushdown          leaves out blocks of Parquet whose least and greatest value, or dictionary, exclude them:
                             one person's value decides whether a whole block is read
    aggregate pushdown       answers from the statistics of files instead of rows
    sizes of files           a table just under the threshold of a broadcast is joined in another way with one row more
    runtime filters          one side of a join decides which rows or files of the other are read
    statistics               row counts that were once computed for a table decide the order of joins

With all of them off a plan follows from the question alone: what it reads, how it joins, its jobs and its tasks; in how
many parts a file is read still follows from its size. `tests/engines/spark/test_read_alike.py` counts on neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MEANING: Final[Mapping[str, str]] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Nothing is inferred from other rows, or from the names of folders.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.respectSummaryFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    # What the words of the registration mean.
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
}
WORK: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    # Only the question decides which side of a join is broadcast: rows of files are estimated at a million times their
    # size.
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.sources.fileCompressionFactor": "1000000.0",
    "spark.sql.join.preferSortMergeJoin": "true",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.singleTaskExecution.enabled": "false",
    "spark.sql.cbo.enabled": "false",
    "spark.sql.cbo.planStats.enabled": "false",
    "spark.sql.statistics.fallBackToHdfs": "false",
}
SETTINGS: Final[Mapping[str, str]] = {**MEANING, **WORK}
