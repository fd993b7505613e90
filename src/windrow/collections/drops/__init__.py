"""The collection `drops`: zips of XML files on the servers of partner centres, and the tracker of their processing."""
