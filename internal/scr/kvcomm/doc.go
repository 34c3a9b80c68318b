// Package kvcomm moves key/value trees between ranks: to one, from one to all, and sparsely among all.
//
// All functions but Send and Recv are collective: every rank calls them, and all get an error if one does
// (comm.Agree), so nobody goes on alone. Trees arrive with their elements in the order they were sent in, and share
// nothing with the sender's. opts (nil: defaults) limit the trees that are unpacked.
//
// Read first: exchange.go.
package kvcomm
