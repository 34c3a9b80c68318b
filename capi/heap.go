package main

// heap raises the heap size at which Go collects garbage. With a few megabytes in use, a collection after every 4 MiB of garbage
// takes 20 % of the time of collective reads. Its pages are never touched, so they take no memory.
var heap = make([]byte, 16<<20)

func init() { heap = heap[:0] } // a variable without a use would be removed
