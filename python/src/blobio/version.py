"""The version, which is that of libblobio."""

NUMBER = "1.4.0"
