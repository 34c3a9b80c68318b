package comm

import "context"

// inCall is a context of a call of the caller.
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

// In names the caller's call that collectives belong to. A collective that belongs to calls of other names on other ranks is ErrMismatch, which names
// them, though the step that they take is the same. The outermost name stays; one without a name goes with any.
func In(ctx context.Context, call string) context.Context {
	if CallOf(ctx) != "" {
		return ctx
	}
	return &inCall{ctx, call}
}

// CallOf returns the name that In has given, "" if none has.
func CallOf(ctx context.Context) string {
	c, _ := ctx.Value(callKey{}).(*inCall)
	if c == nil {
		return ""
	}
	return c.call
}

// Within is a collective as part of the caller's call, for errors.
func Within(call, collective string) string {
	if call == "" {
		return collective
	}
	return call + " (" + collective + ")"
}
