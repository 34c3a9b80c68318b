// Package calls stores the name of the caller's operation in a context. The implementations of package
// comm use the name in errors about mismatched collectives.
package calls

import "context"

// inCall is a context that carries the name of an operation.
type inCall struct {
	context.Context
	call string
}

type callKey struct{}

// Value implements context.Context.
func (c *inCall) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// In implements comm.In.
func In(ctx context.Context, call string) context.Context {
	if Of(ctx) != "" {
		return ctx
	}
	return &inCall{ctx, call}
}

// Of returns the name set by In, or "".
func Of(ctx context.Context) string {
	c, _ := ctx.Value(callKey{}).(*inCall)
	if c == nil {
		return ""
	}
	return c.call
}

// Within returns a text, for errors, that names a collective and the operation to which it belongs.
func Within(call, collective string) string {
	if call == "" {
		return collective
	}
	return call + " (" + collective + ")"
}
