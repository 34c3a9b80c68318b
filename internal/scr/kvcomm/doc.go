// Package kvcomm moves key/value trees between ranks: point to point, from one rank to all, and sparsely among all.
//
// All functions except Send and Recv are collective. If one rank gets an error, all ranks get one (comm.Agree), so that no rank
// continues alone. Trees arrive with their elements in the original order, and share no memory with the sender's tree. opts
// limits the trees that are unpacked; nil means defaults.
//
// Read first: exchange.go.
package kvcomm
