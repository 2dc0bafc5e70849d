"""Random SQL whose answers from iolode are compared with DuckDB's over the same Parquet files.

| module | what it is |
|---|---|
| `syntax` | statements as trees |
| `render` | trees as SQL, in iolode's dialect and in DuckDB's |
| `tables` | the tables that statements read: columns, keys, sizes, values that occur; the table of awkward values |
| `expressions` | random expressions of a type |
| `statements` | random statements |
| `lakes` | the three lakes of the same logs that a take reads |
| `engines` | both engines as processes, and the variants of iolode |
| `duckdb_peer` | the process of DuckDB |
| `compare` | whether two answers are one, and which differences are no faults |
| `shrink` | a smaller statement that still differs |
| `takes` | the command: a take of statements, its log and its exit status |

A statement is a function of the seed of its take, its number and the lake: the same three give the same text.
"""
