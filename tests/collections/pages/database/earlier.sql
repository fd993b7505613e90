BEGIN TRANSACTION;
CREATE TABLE crawl_summary (
  crawl_summary_id INTEGER PRIMARY KEY,
  entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  was_robotstxt_approved BOOL NOT NULL,
  crawl_type INTEGER NOT NULL,
  crawl_uuid BLOB NOT NULL,
  agent_uuid BLOB NOT NULL,
  time_started_unix_utc INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  request_duration_ms INTEGER
);
INSERT INTO "crawl_summary" VALUES(1,1,1,0,X'00000000000A70008000000000000001',X'6167656E742D6F662D31362D62797465',10,20,7);
INSERT INTO "crawl_summary" VALUES(2,2,1,0,X'00000000000B70008000000000000002',X'6167656E742D6F662D31362D62797465',11,20,7);
INSERT INTO "crawl_summary" VALUES(3,3,1,0,X'00000000000C70008000000000000003',X'6167656E742D6F662D31362D62797465',12,20,7);
INSERT INTO "crawl_summary" VALUES(4,1,1,0,X'00000000001470008000000000000005',X'6167656E742D6F662D31362D62797465',20,20,7);
INSERT INTO "crawl_summary" VALUES(5,1,1,0,X'00000000001E70008000000000000006',X'6167656E742D6F662D31362D62797465',30,20,7);
INSERT INTO "crawl_summary" VALUES(6,4,1,0,X'00000000000D70008000000000000004',X'6167656E742D6F662D31362D62797465',13,20,7);
INSERT INTO "crawl_summary" VALUES(7,1,1,0,X'00000000002870008000000000000007',X'6167656E742D6F662D31362D62797465',40,20,7);
INSERT INTO "crawl_summary" VALUES(8,2,1,0,X'00000000001F7000800000000000000A',X'6167656E742D6F662D31362D62797465',31,20,7);
INSERT INTO "crawl_summary" VALUES(9,3,1,0,X'00000000002A7000800000000000000F',X'6167656E742D6F662D31362D62797465',42,20,7);
INSERT INTO "crawl_summary" VALUES(10,5,1,0,X'00000000001770008000000000000011',X'6167656E742D6F662D31362D62797465',23,20,7);
INSERT INTO "crawl_summary" VALUES(11,6,1,0,X'00000000002170008000000000000012',X'6167656E742D6F662D31362D62797465',33,20,7);
INSERT INTO "crawl_summary" VALUES(12,3,1,0,X'00000000003470008000000000000010',X'6167656E742D6F662D31362D62797465',52,20,7);
INSERT INTO "crawl_summary" VALUES(13,1,1,0,X'00000000003270008000000000000013',X'6167656E742D6F662D31362D62797465',50,20,7);
CREATE TABLE document_description (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  time_created_unix_utc INTEGER,
  time_updated_unix_utc INTEGER,
  primary_language VARCHAR,
  title TEXT,
  primary_headline TEXT,
  description TEXT,
  indexiness INTEGER NOT NULL
);
INSERT INTO "document_description" VALUES(1,NULL,1,'en','A 1',NULL,NULL,1);
INSERT INTO "document_description" VALUES(2,NULL,0,'en','B 0',NULL,NULL,0);
INSERT INTO "document_description" VALUES(3,NULL,1,'en','A 1',NULL,NULL,1);
CREATE TABLE duplicate_summary (
  subject_entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  duplicate_of_entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  duplicate_status_start_unix_utc INTEGER NOT NULL,
  duplicate_status_end_unix_utc INTEGER
);
CREATE TABLE entity_generation (
  entity_generation_id INTEGER PRIMARY KEY,
  entity_generation_uuid BLOB NOT NULL UNIQUE,
  url_id INTEGER NOT NULL REFERENCES url,
  url_fragment TEXT,
  first_seen_unix_utc INTEGER NOT NULL,
  last_seen_unix_utc INTEGER NOT NULL,
  confirmed_end_unix_utc INTEGER,
  marked_duplicate BOOL NOT NULL DEFAULT 0,
  text_pile_id INTEGER REFERENCES text_pile,
  CHECK (first_seen_unix_utc <= last_seen_unix_utc)
);
INSERT INTO "entity_generation" VALUES(1,X'00000000000A7000A7494EAA7E8BFAF6',1,NULL,10,50,NULL,0,1);
INSERT INTO "entity_generation" VALUES(2,X'00000000000B7000AF6E8817054D7706',2,NULL,11,31,NULL,0,2);
INSERT INTO "entity_generation" VALUES(3,X'00000000000C70008463B6C3B7AF10BB',5,NULL,12,52,NULL,0,1);
INSERT INTO "entity_generation" VALUES(4,X'00000000000D7000AB85B758E185D9FB',4,NULL,13,13,23,0,NULL);
INSERT INTO "entity_generation" VALUES(5,X'00000000001770008171EAFEAD03DD00',4,NULL,23,23,33,0,NULL);
INSERT INTO "entity_generation" VALUES(6,X'00000000002170009A48E84E7F8D889C',4,NULL,33,33,NULL,0,NULL);
CREATE TABLE file_summary (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  file_size INTEGER,
  mimetype_id INTEGER REFERENCES mimetype,
  canonical_url_id INTEGER REFERENCES url
);
INSERT INTO "file_summary" VALUES(1,6,1,NULL);
INSERT INTO "file_summary" VALUES(2,5,1,NULL);
INSERT INTO "file_summary" VALUES(3,6,1,NULL);
INSERT INTO "file_summary" VALUES(4,9,2,NULL);
INSERT INTO "file_summary" VALUES(6,9,2,NULL);
CREATE TABLE http_summary (
  crawl_summary_id INTEGER PRIMARY KEY REFERENCES crawl_summary,
  status_code INTEGER NOT NULL,
  etag TEXT
);
INSERT INTO "http_summary" VALUES(1,200,'"A"');
INSERT INTO "http_summary" VALUES(2,200,'"B"');
INSERT INTO "http_summary" VALUES(3,200,'"A"');
INSERT INTO "http_summary" VALUES(4,200,'"A"');
INSERT INTO "http_summary" VALUES(5,200,'"A"');
INSERT INTO "http_summary" VALUES(6,200,'"file"');
INSERT INTO "http_summary" VALUES(7,304,'"same"');
INSERT INTO "http_summary" VALUES(8,200,'"B"');
INSERT INTO "http_summary" VALUES(9,200,'"A"');
INSERT INTO "http_summary" VALUES(10,302,'"move"');
INSERT INTO "http_summary" VALUES(11,200,'"file"');
INSERT INTO "http_summary" VALUES(12,304,'"same"');
INSERT INTO "http_summary" VALUES(13,200,'"A"');
CREATE TABLE link_summary (
  link_summary_id INTEGER NOT NULL UNIQUE,
  entity_generation_id INTEGER NOT NULL REFERENCES entity_generation,
  link_to_url INTEGER NOT NULL REFERENCES url,
  link_to_fragment TEXT,
  rel_nofollow BOOL NOT NULL,
  rel_me BOOL NOT NULL,
  rel_tag BOOL NOT NULL,
  in_header BOOL NOT NULL,
  in_footer BOOL NOT NULL,
  in_aside BOOL NOT NULL,
  in_nav BOOL NOT NULL,
  in_form BOOL NOT NULL,
  in_main BOOL NOT NULL,
  in_article BOOL NOT NULL,
  in_section BOOL NOT NULL,
  in_table BOOL NOT NULL,
  in_figure BOOL NOT NULL,
  in_address BOOL NOT NULL,
  in_code BOOL NOT NULL,
  in_headline BOOL NOT NULL,
  in_list BOOL NOT NULL,
  in_paragraph BOOL NOT NULL,
  contains_headline BOOL NOT NULL,
  destination_type INTEGER,
  link_locality INTEGER NOT NULL,
  html_tag_name VARCHAR,
  text VARCHAR,
  PRIMARY KEY (entity_generation_id, link_summary_id)
) WITHOUT ROWID;
INSERT INTO "link_summary" VALUES(1,1,4,NULL,0,1,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2,'a','A 1');
INSERT INTO "link_summary" VALUES(2,2,3,NULL,0,1,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2,'a','B 0');
INSERT INTO "link_summary" VALUES(3,3,4,NULL,0,1,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2,'a','A 1');
CREATE TABLE mime_parameter (
  mimetype_id INTEGER NOT NULL REFERENCES mimetype,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (mimetype_id, name)
);
CREATE TABLE mimetype (
  mimetype_id INTEGER PRIMARY KEY,
  mime_type TEXT NOT NULL,
  mime_subtype TEXT NOT NULL,
  mime_suffix TEXT
);
INSERT INTO "mimetype" VALUES(1,'text','html',NULL);
INSERT INTO "mimetype" VALUES(2,'image','png',NULL);
CREATE TABLE origin (
  origin_id INTEGER PRIMARY KEY,
  scheme VARCHAR NOT NULL,
  host VARCHAR,
  port INTEGER,
  str_origin TEXT NOT NULL UNIQUE
);
INSERT INTO "origin" VALUES(1,'http','a.example',NULL,'http://a.example');
INSERT INTO "origin" VALUES(2,'http','b.example',NULL,'http://b.example');
INSERT INTO "origin" VALUES(3,'https','a.example',NULL,'https://a.example');
CREATE TABLE redirect_summary (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  to_url_id INTEGER NOT NULL REFERENCES url,
  information_source INTEGER NOT NULL,
  by_security_policy BOOL NOT NULL,
  to_url_fragment TEXT
);
INSERT INTO "redirect_summary" VALUES(5,6,1,0,'there');
CREATE TABLE text_pile (
  text_pile_id INTEGER PRIMARY KEY,
  blake2b512_digest BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL,
  secondary_text TEXT NOT NULL,
  big_headlines TEXT NOT NULL,
  small_headlines TEXT NOT NULL,
  code_text TEXT NOT NULL,
  quote_text TEXT NOT NULL
);
INSERT INTO "text_pile" VALUES(1,X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','A','menu A','','','','');
INSERT INTO "text_pile" VALUES(2,X'ED496AAEE05AFF8C0CCFCCECF514FCC42E0AD30409A8043DD991DB8D420662387CF28085194426D3BEB956D0790A847F890CBD1CBAB5D8C9DEB72EA56B6A1CF8','B','menu B','','','','');
CREATE TABLE token (
  token_id INTEGER PRIMARY KEY,
  token_text TEXT NOT NULL UNIQUE
);
CREATE TABLE token_statistics (
  token_id INTEGER NOT NULL REFERENCES token,
  text_pile_id INTEGER NOT NULL REFERENCES text_pile,
  occurances INTEGER NOT NULL,
  PRIMARY KEY (text_pile_id, token_id)
) WITHOUT ROWID;
CREATE TABLE unobtanium_database_info (
  key TEXT PRIMARY KEY,
  value TEXT
);
INSERT INTO "unobtanium_database_info" VALUES('schema.base','0.1.0');
INSERT INTO "unobtanium_database_info" VALUES('schema.summary','0.0.0');
INSERT INTO "unobtanium_database_info" VALUES('tool','windrow');
INSERT INTO "unobtanium_database_info" VALUES('created_unix_utc','1795317863');
INSERT INTO "unobtanium_database_info" VALUES('windrow.visit','16');
CREATE TABLE url (
  url_id INTEGER PRIMARY KEY,
  origin_id INTEGER NOT NULL REFERENCES origin,
  path TEXT,
  query TEXT,
  username TEXT,
  password TEXT,
  str_url TEXT NOT NULL UNIQUE
);
INSERT INTO "url" VALUES(1,1,'/1',NULL,NULL,NULL,'http://a.example/1');
INSERT INTO "url" VALUES(2,1,'/2',NULL,NULL,NULL,'http://a.example/2');
INSERT INTO "url" VALUES(3,2,'/0',NULL,NULL,NULL,'http://b.example/0');
INSERT INTO "url" VALUES(4,2,'/1',NULL,NULL,NULL,'http://b.example/1');
INSERT INTO "url" VALUES(5,3,'/2',NULL,NULL,NULL,'https://a.example/2');
INSERT INTO "url" VALUES(6,1,'/target',NULL,NULL,NULL,'http://a.example/target');
CREATE TABLE windrow_band (
  band INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  generation_id INTEGER NOT NULL,
  PRIMARY KEY (band, rank, generation_id)
) WITHOUT ROWID;
CREATE TABLE windrow_near_duplicate (
  generation_id INTEGER PRIMARY KEY,
  other_id INTEGER NOT NULL,
  similarity REAL NOT NULL
);
CREATE TABLE windrow_observation (
  url_id INTEGER NOT NULL REFERENCES url,
  at INTEGER NOT NULL,
  crawl_uuid BLOB NOT NULL,
  sight TEXT NOT NULL,
  identity BLOB NOT NULL,
  payload TEXT NOT NULL,
  reason TEXT NOT NULL,
  visit INTEGER NOT NULL,
  entity_generation_id INTEGER,
  agent_uuid BLOB NOT NULL,
  crawl_type INTEGER NOT NULL,
  was_robotstxt_approved BOOL NOT NULL,
  exit_code INTEGER NOT NULL,
  request_duration_ms INTEGER,
  status_code INTEGER,
  etag TEXT,
  said BLOB NOT NULL DEFAULT x'',
  PRIMARY KEY (url_id, at, crawl_uuid)
) WITHOUT ROWID;
INSERT INTO "windrow_observation" VALUES(1,10,X'00000000000A70008000000000000001','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 1','',1,1,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'D5DC10E8E37253E0F8B1A2ABC4BF510B');
INSERT INTO "windrow_observation" VALUES(1,20,X'00000000001470008000000000000005','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 1','',5,1,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'D5DC10E8E37253E0F8B1A2ABC4BF510B');
INSERT INTO "windrow_observation" VALUES(1,30,X'00000000001E70008000000000000006','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 0','',6,1,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'4D6DCE359BF2691FBFB856712B5EFF5E');
INSERT INTO "windrow_observation" VALUES(1,40,X'00000000002870008000000000000007','same',X'','','',7,1,X'6167656E742D6F662D31362D62797465',0,1,20,7,304,'"same"',X'');
INSERT INTO "windrow_observation" VALUES(1,50,X'00000000003270008000000000000013','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 1','',19,1,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'D5DC10E8E37253E0F8B1A2ABC4BF510B');
INSERT INTO "windrow_observation" VALUES(2,11,X'00000000000B70008000000000000002','content',X'ED496AAEE05AFF8C0CCFCCECF514FCC42E0AD30409A8043DD991DB8D420662387CF28085194426D3BEB956D0790A847F890CBD1CBAB5D8C9DEB72EA56B6A1CF8','sha256:B 0','',2,2,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"B"',X'AF1ACAA350800D45420585226C7D15DA');
INSERT INTO "windrow_observation" VALUES(2,21,X'00000000001570008000000000000008','gone',X'','','',8,NULL,X'6167656E742D6F662D31362D62797465',0,1,20,7,410,'"gone"',X'');
INSERT INTO "windrow_observation" VALUES(2,31,X'00000000001F7000800000000000000A','content',X'ED496AAEE05AFF8C0CCFCCECF514FCC42E0AD30409A8043DD991DB8D420662387CF28085194426D3BEB956D0790A847F890CBD1CBAB5D8C9DEB72EA56B6A1CF8','sha256:B 0','',10,2,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"B"',X'AF1ACAA350800D45420585226C7D15DA');
INSERT INTO "windrow_observation" VALUES(4,13,X'00000000000D70008000000000000004','content',X'6666666666666666666666666666666666666666666666666666666666666666','sha256:file','unsupported',4,4,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"file"',X'');
INSERT INTO "windrow_observation" VALUES(4,23,X'00000000001770008000000000000011','content',X'6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D','','',17,5,X'6167656E742D6F662D31362D62797465',0,1,20,7,302,'"move"',X'');
INSERT INTO "windrow_observation" VALUES(4,33,X'00000000002170008000000000000012','content',X'6666666666666666666666666666666666666666666666666666666666666666','sha256:file','unsupported',18,6,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"file"',X'');
INSERT INTO "windrow_observation" VALUES(5,12,X'00000000000C70008000000000000003','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 1','',3,3,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'D5DC10E8E37253E0F8B1A2ABC4BF510B');
INSERT INTO "windrow_observation" VALUES(5,22,X'0000000000167000800000000000000B','missing',X'','','',11,NULL,X'6167656E742D6F662D31362D62797465',0,1,20,7,404,'"missing"',X'');
INSERT INTO "windrow_observation" VALUES(5,32,X'0000000000207000800000000000000D','missing',X'','','',13,NULL,X'6167656E742D6F662D31362D62797465',0,1,20,7,404,'"missing"',X'');
INSERT INTO "windrow_observation" VALUES(5,42,X'00000000002A7000800000000000000F','content',X'C77613DCCA726FAA109D017BFF4847CDE039F1FA4B92622D0B2291C78FA069C677C4CD1171F781EAEA7DF287BFD491975F5745CFBE3CE2B819277FFC8CEB68E4','sha256:A 1','',15,3,X'6167656E742D6F662D31362D62797465',0,1,20,7,200,'"A"',X'D5DC10E8E37253E0F8B1A2ABC4BF510B');
INSERT INTO "windrow_observation" VALUES(5,52,X'00000000003470008000000000000010','same',X'','','',16,3,X'6167656E742D6F662D31362D62797465',0,1,20,7,304,'"same"',X'');
CREATE TABLE windrow_owed (
  entity_generation_id INTEGER PRIMARY KEY REFERENCES entity_generation,
  visit INTEGER NOT NULL
);
CREATE TABLE windrow_regroup (
  text_pile_id INTEGER PRIMARY KEY
);
CREATE TABLE windrow_representative (
  generation_id INTEGER PRIMARY KEY,
  representative_id INTEGER NOT NULL
);
INSERT INTO "windrow_representative" VALUES(1,3);
INSERT INTO "windrow_representative" VALUES(3,3);
CREATE TABLE windrow_signature (
  generation_id INTEGER PRIMARY KEY,
  rank INTEGER NOT NULL,
  sketch BLOB NOT NULL
);
CREATE TABLE windrow_touched (
  generation_id INTEGER PRIMARY KEY
);
CREATE TABLE windrow_wording (
  said BLOB PRIMARY KEY,
  title TEXT,
  primary_headline TEXT,
  description TEXT,
  canonical_url_id INTEGER REFERENCES url
) WITHOUT ROWID;
INSERT INTO "windrow_wording" VALUES(X'4D6DCE359BF2691FBFB856712B5EFF5E','A 0',NULL,NULL,NULL);
INSERT INTO "windrow_wording" VALUES(X'AF1ACAA350800D45420585226C7D15DA','B 0',NULL,NULL,NULL);
INSERT INTO "windrow_wording" VALUES(X'D5DC10E8E37253E0F8B1A2ABC4BF510B','A 1',NULL,NULL,NULL);
CREATE INDEX entity_generation_by_uuid ON entity_generation (entity_generation_uuid);
CREATE INDEX entity_generation_by_first_seen ON entity_generation (url_id, url_fragment, first_seen_unix_utc);
CREATE INDEX entity_generation_by_text_pile ON entity_generation (text_pile_id, confirmed_end_unix_utc);
CREATE INDEX entity_generation_by_active ON entity_generation (marked_duplicate, confirmed_end_unix_utc);
CREATE INDEX duplicate_summary_by_duplicate
  ON duplicate_summary (subject_entity_generation_id, duplicate_status_end_unix_utc);
CREATE INDEX crawl_summary_by_crawl_uuid ON crawl_summary (crawl_uuid);
CREATE INDEX link_summary_by_target ON link_summary (link_to_url);
CREATE INDEX windrow_mimetype_by_name ON mimetype (mime_type, mime_subtype);
CREATE INDEX windrow_mime_parameter_by_value ON mime_parameter (value, name);
CREATE INDEX windrow_owed_by_visit ON windrow_owed (visit);
CREATE INDEX windrow_crawl_by_generation ON crawl_summary (entity_generation_id);
CREATE INDEX windrow_duplicate_by_original
  ON duplicate_summary (duplicate_of_entity_generation_id, duplicate_status_end_unix_utc);
CREATE INDEX windrow_near_by_other ON windrow_near_duplicate (other_id);
CREATE INDEX windrow_represented ON windrow_representative (representative_id);
CREATE INDEX windrow_file_by_canonical ON file_summary (canonical_url_id)
  WHERE canonical_url_id IS NOT NULL;
CREATE VIEW windrow_version AS
SELECT o.url_id, o.entity_generation_id, o.at AS first_seen_unix_utc, o.said, w.title, w.primary_headline,
  w.description, w.canonical_url_id
FROM (
  SELECT url_id, entity_generation_id, at, said,
    lag(said) OVER (PARTITION BY url_id, entity_generation_id ORDER BY at, crawl_uuid) AS before
  FROM windrow_observation WHERE said <> x'' AND entity_generation_id IS NOT NULL
) o JOIN windrow_wording w ON w.said = o.said
WHERE o.before IS NOT o.said;
COMMIT;
