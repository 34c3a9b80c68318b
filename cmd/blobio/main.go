package main

import (
	"blobio/cmd/blobio/internal/verbs"
)

func main() { verbs.Main() }
