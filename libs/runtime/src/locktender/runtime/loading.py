"""Loading a process's code in two thirds of the time."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def loading() -> Generator[None]:
    """The collector of cycles rests while modules are imported, and never looks at what they made.

    Importing makes some hundred thousand objects that stay as long as the process does. Going through all of them
    again and again while there come more takes a third of the time of a start; and later a pause each time that the
    oldest generation is collected. For the main module of a process only: garbage of before stays for ever as well.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
