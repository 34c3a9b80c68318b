// Package mounts has the verb mount, which shows datasets as files.
package mounts
