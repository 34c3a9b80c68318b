"""Exceptions.

All are subclasses of Error, an OSError, and have

    code    error code of libblobio, such as -12, or None
    file    the faulty file, or ""
    offset  offset of the fault in the file, in bytes, or -1

The text names the field, what was found and what was wanted, if these are known.
"""


class Error(OSError):
    """A fault of a dataset, or of a request."""

    def __init__(self, text, code=None, file="", offset=-1):
        super().__init__(text)
        self.code, self.file, self.offset = code, file, offset

    # Without tblib, dask raises another process's error as a subclass that never calls __init__
    # and takes the attributes from the wrapped error.

    def __str__(self):
        return str(self.args[0]) if self.args else super().__str__()

    def __reduce__(self):  # for pickle
        cls = next(c for c in type(self).__mro__ if c.__module__ == __name__)
        return cls, (str(self), self.code, self.file, self.offset)


class LibraryError(Error):
    """libblobio cannot be loaded, or the helper process of a forked child cannot be started."""


class GoneError(LibraryError):
    """The helper process of a forked child has ended. The next read starts another one."""


class NotFoundError(Error, FileNotFoundError):
    """No such file or dataset."""


class AccessError(Error, PermissionError):
    """No permission."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


class ClosedError(UsageError):
    """The dataset was closed."""


class CapError(Error, MemoryError):
    """The option memory is too small for the request."""


class FormatError(Error):
    """Not a dataset, or a dataset of an unknown version or with an unsupported feature."""


class NotCommittedError(Error):
    """The dataset was never committed."""


class ReplacedError(Error):
    """The dataset was replaced or appended to since it was first opened."""


class DamageError(Error):
    """Data are damaged. Only reads that touch the damage fail."""


class ChecksumError(DamageError):
    """Bytes do not match their checksum."""


class TruncatedError(DamageError):
    """A file is shorter than its metadata say."""


class CorruptError(DamageError):
    """A field of a file has a value that the format forbids."""


class MissingError(DamageError):
    """A subfile is missing."""


class WriterDiedError(Error):
    """The writer of the awaited records has died, or may have died."""


FORKED = -24  # BLOBIO_EFORKED
SMALL = -27  # BLOBIO_ESMALL

_classes = {
    -1: ClosedError,
    -2: UsageError,
    -3: UsageError,
    -4: UsageError,
    -6: NotFoundError,
    -7: AccessError,
    -10: CapError,
    -11: TruncatedError,
    -12: ChecksumError,
    -13: CorruptError,
    -14: FormatError,
    -15: FormatError,
    -16: FormatError,
    -17: NotCommittedError,
    -18: MissingError,
    -24: LibraryError,
    -29: WriterDiedError,
}


def of_code(code, text, file="", offset=-1):
    """The exception for an error code of libblobio."""
    return _classes.get(code, Error)(text or "blobio: error %d" % code, code, file, offset)
