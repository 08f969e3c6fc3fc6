import sys

from roomful.cli import main

sys.exit(main())
