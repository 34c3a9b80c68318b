// Package par does numbered items on several goroutines, a bounded number at a time, and waits for them.
//
// Items begin in their order. If some fail, the error is the one of the lowest number, as if one goroutine had
// done the items in turn: after a failure no more items begin, the contexts of items after it are cancelled, and those before
// it, which have all begun, come to their end.
//
// A panic in an item ends the work in the same way and comes out at the caller, as a *Panic unless the item ran on the
// caller's goroutine. So does runtime.Goexit.
package par
