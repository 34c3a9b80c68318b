// Package par runs numbered items on several goroutines, a bounded number at a time, and waits for them.
//
// Items begin in order. If several items fail, the error of the item with the lowest number is returned, as if one
// goroutine had run the items one after the other. After a failure no more items begin, and the contexts of later items
// are cancelled. Earlier items, which have all begun, run to their end.
//
// A panic in an item ends the work in the same way and reaches the caller, as a *Panic unless the item ran on the caller's
// goroutine. A call of runtime.Goexit in an item ends the work in the same way, too.
package par
