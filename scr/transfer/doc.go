// Package transfer copies files between caches and the prefix directory: checked, durable, in the foreground or in the
// background, under caps of bandwidth and processor time, into containers and compressed.
package transfer
