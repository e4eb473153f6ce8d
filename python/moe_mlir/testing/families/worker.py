"""What a process of one family does. Imported once, before the families get processes of their own, with all that they need."""

import transformers.cache_utils  # noqa: F401
import transformers.integrations.moe  # noqa: F401
import transformers.modeling_utils  # noqa: F401
from torch.export import export  # noqa: F401

from .cycle import run_family
from .drawing.run import run_drawn


def work(family, folder, sender):
    sender.send(run_family(family, folder))


def work_drawn(number, folder, sender):
    sender.send(run_drawn(number, folder))
