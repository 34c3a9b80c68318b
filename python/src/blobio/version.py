"""The version, the same as libblobio's."""

NUMBER = "1.5.0"
