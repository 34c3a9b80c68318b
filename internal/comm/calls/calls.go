// Package calls names the caller's operation that a collective belongs to, for engines of package comm.
package calls

import "context"

// inCall is a context with the name of an operation.
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

// Within returns the text of a collective in an operation, for errors.
func Within(call, collective string) string {
	if call == "" {
		return collective
	}
	return call + " (" + collective + ")"
}
