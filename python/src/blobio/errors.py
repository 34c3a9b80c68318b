"""What goes wrong, as exceptions.

All are of class Error, an OSError, and have

    code    the number that libblobio gave, such as -12, or None
    file    the file that is wrong, or ""
    offset  where in it, in bytes, or -1

The text names the field, what was found and what was wanted where these are known.
"""


class Error(OSError):
    """Something is wrong with a dataset, or with what was asked of it."""

    def __init__(self, text, code=None, file="", offset=-1):
        super().__init__(text)
        self.code, self.file, self.offset = code, file, offset

    def __str__(self):
        return self.args[0]

    def __reduce__(self):  # from process to process
        return type(self), (self.args[0], self.code, self.file, self.offset)


class LibraryError(Error):
    """libblobio, or the process that reads for a forked one, cannot be started."""


class GoneError(LibraryError):
    """The process that read for a forked one has ended. Reading again starts another one."""


class NotFoundError(Error, FileNotFoundError):
    """No such file or dataset."""


class AccessError(Error, PermissionError):
    """The system forbids it."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


class ClosedError(UsageError):
    """The dataset was closed."""


class CapError(Error, MemoryError):
    """More memory would be needed than the option memory allows."""


class FormatError(Error):
    """Not a dataset, or one of a version or with a feature that is not known here."""


class NotCommittedError(Error):
    """The dataset was never finished."""


class ReplacedError(Error):
    """The dataset is not any more what it was when it was first opened: it was replaced or appended to."""


class DamageError(Error):
    """Data are damaged. Only what is asked for and touches the damage fails."""


class ChecksumError(DamageError):
    """Bytes do not match their checksum."""


class TruncatedError(DamageError):
    """A file ends before what its own metadata promise."""


class CorruptError(DamageError):
    """A field of a file holds what the format forbids."""


class MissingError(DamageError):
    """A subfile is not there."""


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
}


def of_code(code, text, file="", offset=-1):
    """The exception for an error code of libblobio."""
    return _classes.get(code, Error)(text or "blobio: error %d" % code, code, file, offset)
