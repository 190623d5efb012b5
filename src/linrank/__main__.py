"""`python -m linrank` is the `linrank` command."""

from linrank.cli import main

raise SystemExit(main())
