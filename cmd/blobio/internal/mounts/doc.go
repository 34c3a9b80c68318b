// Package mounts is the verb that shows datasets as files.
package mounts
