#!/usr/bin/env python3
"""Random SQL against DuckDB: the command of tests/oracles/duckdb/random_sql, to be run in the environment of the tests' Python packages.

    scripts/oracle.py --lakes DIR --make scale 0.02
    scripts/oracle.py --lakes DIR --seed 1 --statements 50000 --hours 2 --log FILE
    scripts/oracle.py --shapes --lakes DIR --seed 1 --statements 5000       # of the second generator, tests/oracles/duckdb/question_shapes
"""

import os
import sys

TESTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests")
sys.path[:0] = [os.path.join(TESTS, "oracles/duckdb"), os.path.join(TESTS, "oracles/python")]

if __name__ == "__main__":
    if "--shapes" in sys.argv:
        sys.argv.remove("--shapes")
        from question_shapes.takes import main
    else:
        from random_sql.takes import main
    sys.exit(main())
