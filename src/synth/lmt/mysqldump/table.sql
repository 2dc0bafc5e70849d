
--
-- Table structure for table `{name}`
--

DROP TABLE IF EXISTS `{name}`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
{create};
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `{name}`
--

LOCK TABLES `{name}` WRITE;
/*!40000 ALTER TABLE `{name}` DISABLE KEYS */;
{rows}/*!40000 ALTER TABLE `{name}` ENABLE KEYS */;
UNLOCK TABLES;
