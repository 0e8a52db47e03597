"""`python -m memctl`."""

from memctl.cli import main

raise SystemExit(main())
