// Package calls names the call of a program that a collective belongs to, for engines of package comm.
package calls

import "context"

// inCall is a context with the name of a call.
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

// In is comm.In.
func In(ctx context.Context, call string) context.Context {
	if Of(ctx) != "" {
		return ctx
	}
	return &inCall{ctx, call}
}

// Of returns the name that In has given, "" if none has.
func Of(ctx context.Context) string {
	c, _ := ctx.Value(callKey{}).(*inCall)
	if c == nil {
		return ""
	}
	return c.call
}

// Within is a collective in a call, for errors.
func Within(call, collective string) string {
	if call == "" {
		return collective
	}
	return call + " (" + collective + ")"
}
