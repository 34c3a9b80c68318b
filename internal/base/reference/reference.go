// Package reference lets a replay write the files of E3SM-IO to the byte. Its programs put a different value of a variable without a decomposition on each
// rank, and the first rank of each subfile writes its own value; to a writer of package blob two values are an error otherwise.
package reference

import "context"

type key struct{}

// Context is for a writer that is created with it: puts of the first rank of each subfile count, and no others are compared with them.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// In reports whether ctx is from Context.
func In(ctx context.Context) bool { return ctx.Value(key{}) != nil }
