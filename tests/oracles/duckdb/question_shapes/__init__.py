"""Questions as analysts, dashboards and BI tools write them, asked in iolode and in DuckDB: a second generator beside `random_sql`, which knows nothing of the first.

Statements are texts made of templates (shapes), not of trees: a statement is a function of the seed of its take and its number.

| module | what it is |
|---|---|
| `draw` | the tables with their columns by kind; random columns, terms and conditions |
| `shapes`, `values` | the shapes |
| `compare` | what tells two answers apart |
| `takes` | the command `scripts/oracle.py --shapes`: a take of statements, and what came of it |
"""
