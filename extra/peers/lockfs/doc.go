// Package lockfs counts what calls would cost on a file system with servers, stripes and extent locks, as Lustre has
// them. Package mount puts it under a FUSE mount, so that any program runs over it unmodified; the program lockfs
// mounts a directory once for each simulated node and runs a command there.
//
// Words: a client is a node. A file is cut into stripe units, which are dealt in turn to the objects of the file, one
// on each of its storage servers; a metadata server has the names. A client writes bytes of an object under a write
// lock on them, and reads under a read lock. A lock is granted on the pages asked for, grown in both directions up to the
// nearest lock of another client that excludes it. A lock of another client on the pages asked for is revoked
// as a whole, which sends what that client wrote under it to the server: a lock move.
//
// Costs are counted, not slept (but see Costs.Sleep): the busy time of each server, from calls and bytes, and the waiting
// time of each client, from round trips. They are sums, so that they do not depend on the order of calls as long as no two
// clients touch the same pages.
//
// Some things are simpler than in Lustre: locks of one client never exclude each other; the growth of a lock is not limited where
// many clients compete; a client's page stays known to it until another client writes the page; each read is sent to a server; sizes
// of files cost no call to the storage servers; a name that was looked up is not asked for again only if it is a directory; nothing
// is resent, and no server fails.
package lockfs
