package io.election.etcd;

/** A user of etcd; empty if etcd does not authenticate. */
record EtcdLogin(String username, String password) {

  boolean isEmpty() {
    return this.username.isEmpty();
  }

  @Override
  public String toString() {
    return this.username;
  }
}
