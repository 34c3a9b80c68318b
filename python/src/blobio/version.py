"""The version, which is that of libblobio."""

NUMBER = "1.5.0"
