from . import interrupts, streams

streams.fill_gaps()  # before anything is opened
interrupts.end_at_once()  # before anything is imported that takes time

from .cli import main  # noqa: E402

interrupts.leave(main())
