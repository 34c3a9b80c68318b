"""The version, the same as libblobio's."""

NUMBER = "1.6.0"
