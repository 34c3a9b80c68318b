// Package cache keeps values that are costly to make.
package cache
