// Package par runs numbered items on several goroutines, a bounded number at a time, and waits for them.
//
// Items begin in order. If some fail, the error of the lowest number is returned, as if one goroutine had run the items in
// turn. After a failure no more items begin, and the contexts of later items are cancelled. Earlier items, which have all
// begun, run to their end.
//
// A panic in an item ends the work in the same way and reaches the caller, as a *Panic unless the item ran on the
// caller's goroutine. So does runtime.Goexit.
package par
